// `npm run exhaustive` loads this file first, so that the tests try everything.
process.env.TESTS = "exhaustive";
