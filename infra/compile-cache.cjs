// Most npm scripts load this file first. Then Node keeps the compiled code of a run for the next run, and for the
// processes that it starts. The scripts do not set the variable with cross-env, because cross-env removes quotes,
// backslashes and empty arguments from the command line.
const { enableCompileCache } = require("node:module");

process.env.NODE_COMPILE_CACHE ||= "node_modules/.cache/node";
enableCompileCache(process.env.NODE_COMPILE_CACHE);
