//! One configuration from files, environment and flags.

use crate::support::program::{RHUMB, command};
use crate::support::{Done, Running, Simulated, figure, run};

fn temp() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

fn with_environment(args: &[&str], variables: &[(&str, &str)]) -> Done {
    let mut rhumb = command(RHUMB);
    rhumb.args(args).envs(variables.iter().copied());
    Running::spawn(rhumb).wait()
}

#[test]
fn config_prints_every_key_and_reads_its_own_output() {
    let folder = temp();
    let printed = run(["config", "--max-pages", "12", "--delay", "250ms"]).expect_code(0);
    for key in rhumb_crawl::Config::KEYS {
        let line = format!("{} = ", key.name);
        assert!(
            printed.stdout.lines().any(|l| l.starts_with(&line)),
            "no {line}"
        );
        assert!(printed.stdout.contains(key.help), "no help for {line}");
    }
    let file = folder.path().join("printed.toml").display().to_string();
    std::fs::write(&file, &printed.stdout).expect("a file");
    let again = run(["config", "--config", &file]).expect_code(0);
    assert_eq!(again.stdout, printed.stdout);
    let by_environment = with_environment(&["config"], &[("RHUMB_CONFIG", &file)]);
    assert_eq!(by_environment.stdout, printed.stdout);
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let web = Simulated::new(20, 300, 81);
    let file = web.dir("settings.toml");
    std::fs::write(&file, "max_pages = 5\nscope = \"any\"\ndelay = \"0s\"\n").expect("a file");
    let file = file.display().to_string();
    let fetched = |dir: &str, flags: &[&str], variables: &[(&str, &str)]| {
        let mut args = web.go_on_args(dir, &["--config", &file]);
        args.extend(flags.iter().map(|flag| (*flag).to_owned()));
        args.push(web.truth.seed_url.clone());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let done = with_environment(&args, variables).expect_code(0);
        figure(&done.json(), "fetched")
    };
    let environment = [("RHUMB_MAX_PAGES", "7")];
    assert_eq!(fetched("file", &[], &[]), 5);
    assert_eq!(fetched("environment", &[], &environment), 7);
    assert_eq!(fetched("flag", &["--max-pages", "9"], &environment), 9);
    assert_eq!(fetched("set", &["--set", "max-pages=11"], &environment), 11);
}

#[test]
fn a_value_out_of_range_is_told_with_its_place() {
    let web = Simulated::new(3, 20, 85);
    web.crawl("crawl", &[]).expect_code(0);
    let dir = web.dir_arg("crawl");
    let file = web.dir("crawl").join("crawl.toml");
    let kept = std::fs::read_to_string(&file).expect("crawl.toml");
    let setting = kept.lines().position(|line| line.starts_with("retries = "));
    let line = setting.expect("a line") + 1;
    std::fs::write(&file, kept.replace("retries = 2", "retries = 2000")).expect("a file");
    let place = format!("{}: line {line}: ", file.display());
    for command in ["config", "crawl", "rebuild"] {
        let done = run([command, "--dir", &dir]).expect_code(2);
        done.assert_stderr_has(&place);
        done.assert_stderr_has("setting `retries`: 2000 is too large");
    }
    let variable = [("RHUMB_RETRIES", "3000")];
    let done = with_environment(&["config", "--dir", &dir], &variable).expect_code(2);
    done.assert_stderr_has("environment variable RHUMB_RETRIES: setting `retries`: 3000");
    // What is given here is nobody else's mistake, and it may mend one.
    let done = run(["config", "--dir", &dir, "--set", "retries=4000"]).expect_code(2);
    assert!(!done.stderr.contains("crawl.toml"), "{}", done.stderr);
    run(["config", "--dir", &dir, "--set", "retries=3"]).expect_code(0);
}

#[test]
fn the_directory_can_be_named_by_the_environment() {
    let web = Simulated::new(3, 20, 86);
    web.crawl("crawl", &["--agent", "somebody/1"])
        .expect_code(0);
    let dir = web.dir_arg("crawl");
    let named = [("RHUMB_DIR", dir.as_str())];
    for args in [
        &["status"][..],
        &["urls", "--state", "fetched"],
        &["why", &web.truth.seed_url],
        &["verify"],
        &["rebuild"],
        &["compact"],
        &["forget", "--list"],
        &["crawl", "--json"],
        &["config"],
    ] {
        with_environment(args, &named).expect_code(0);
        let nowhere = web.dir_arg("nowhere");
        with_environment(args, &[("RHUMB_DIR", &nowhere)]).expect_code(3);
    }
    let printed = with_environment(&["config"], &named).stdout;
    assert!(printed.contains("agent = \"somebody/1\""), "{printed}");
    for steer in ["pause", "resume", "stop", "checkpoint"] {
        let done = with_environment(&[steer], &named).expect_code(3);
        done.assert_stderr_has(&dir);
    }
}

#[test]
fn a_crawl_remembers_its_settings() {
    let web = Simulated::new(3, 20, 82);
    web.crawl("crawl", &["--agent", "somebody/1", "--set", "retries=7"])
        .expect_code(0);
    let dir = web.dir_arg("crawl");
    let printed = run(["config", "--dir", &dir]).expect_code(0);
    for line in [
        "agent = \"somebody/1\"",
        "retries = 7",
        "scope = \"any\"",
        "delay = \"0s\"",
    ] {
        assert!(printed.stdout.lines().any(|l| l == line), "no {line}");
    }
    let kept = std::fs::read_to_string(web.dir("crawl").join("crawl.toml")).expect("crawl.toml");
    let settings = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains(" = "));
        lines.map(str::to_owned).collect()
    };
    // The directory may be moved: it does not say where it is.
    let mut printed = settings(&printed.stdout);
    printed.retain(|line| !line.starts_with("dir = "));
    assert_eq!(settings(&kept), printed);
}

#[test]
fn what_a_crawl_says_is_a_setting_as_others_are() {
    let web = Simulated::new(3, 20, 84);
    web.crawl("crawl", &[]).expect_code(0);
    let dir = web.dir_arg("crawl");
    let file = web.dir("crawl").join("crawl.toml");
    let own = || std::fs::read_to_string(&file).expect("crawl.toml");
    // The flags of that call are not kept.
    assert!(own().contains("json = false\n") && own().contains("quiet = false\n"));
    let said = own()
        .replace("json = false", "json = true")
        .replace("quiet = false", "quiet = true");
    std::fs::write(&file, &said).expect("a file");
    let go_on = ["crawl", "--dir", &dir];
    let says = |done: Done| {
        let done = done.expect_code(0);
        (done.stdout.starts_with('{'), !done.stderr.is_empty())
    };
    assert_eq!(says(run(go_on)), (true, false));
    let environment = [("RHUMB_JSON", "false"), ("RHUMB_QUIET", "false")];
    let by_environment = with_environment(&go_on, &environment);
    assert_eq!(says(by_environment), (false, true));
    let flags = [&go_on[..], &["--json"]].concat();
    assert_eq!(says(with_environment(&flags, &environment)), (true, true));
    let set = [&go_on[..], &["--set", "quiet=false"]].concat();
    assert_eq!(says(run(set)), (true, true));
    assert_eq!(own(), said, "what was given for a call is kept");
    run(["rebuild", "--dir", &dir]).expect_code(0);
    assert_eq!(own(), said);
    let printed = run(["config", "--dir", &dir]).expect_code(0).stdout;
    for line in ["json = true", "quiet = true", &format!("dir = \"{dir}\"")] {
        assert!(printed.lines().any(|l| l == line), "no {line} in {printed}");
    }
}

#[test]
fn the_summary_has_what_programs_look_for() {
    let web = Simulated::new(3, 20, 83);
    let done = web.crawl("crawl", &[]).expect_code(0);
    assert_eq!(done.stdout.lines().count(), 1);
    let json = done.json();
    for name in [
        "fetched",
        "failed",
        "refused",
        "duplicates",
        "links",
        "urls_seen",
        "queued",
        "bytes",
        "peak_rss_bytes",
    ] {
        figure(&json, name);
    }
    for name in ["seconds", "cpu_seconds", "pages_per_second"] {
        assert!(
            json[name].as_f64().is_some_and(|n| n > 0.0),
            "{name} in {json}"
        );
    }
}

#[test]
fn help_names_every_command_and_exit_code() {
    let help = run(["--help"]).expect_code(0);
    for word in [
        "crawl", "demo", "status", "urls", "why", "pause", "resume", "stop", "fetch",
    ] {
        assert!(help.stdout.contains(word), "no {word}");
    }
    assert!(help.stdout.contains("Exit codes"));
    // Only what means something there.
    for command in ["fetch", "config"] {
        let help = run([command, "--help"]).expect_code(0).stdout;
        assert!(help.contains("--set"), "{help}");
        assert!(!help.contains("--max-depth"), "{help}");
    }
    run(["fetch", "http://a.test/", "--max-depth", "3"]).expect_code(2);
    run(["--version"]).expect_code(0);
    run(["no-such-command"]).expect_code(2);
    run(["crawl", "--no-such-flag"]).expect_code(2);
}
