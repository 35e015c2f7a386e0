//! Whole crawls: the real program against the simulated web, judged by the
//! truth of that web and by the log of its server.

mod archive;
mod askers;
mod bad_input;
mod commands;
mod compaction;
mod completeness;
mod damage;
mod disagreement;
mod full_disk;
mod host_status;
mod kill;
mod limits;
mod maintenance;
mod odd_servers;
mod output;
mod politeness;
mod reach;
mod resume;
mod robots_command;
mod robots_failures;
mod robots_suites;
mod scope;
mod seeds;
mod settings;
mod sitemap_command;
mod steering;
mod support;
mod takedown;
mod tried_again;
mod why;
