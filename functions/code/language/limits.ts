/*
 * The limits of code mode. Each comment says the unit, and the error when the limit is exceeded. docs/code-mode.md
 * lists the limits for callers.
 */

/** The longest program, in bytes of UTF-8. Beyond it: `source_too_large` over MCP, or a refused request. */
export const sourceLimitBytes = 65_536;

/** The deepest nesting of brackets, signs and `else` in a program. Beyond it: `nesting_too_deep`. */
export const nestingLimit = 32;

/** The most calls in the source of a program, and the most calls that a run makes. Beyond it: `too_many_calls`. */
export const callLimit = 200;

/** The most `for` and `if` clauses of one comprehension. Beyond it: `syntax_error`. */
export const clauseLimit = 8;

/** The highest complexity score of a program. Beyond it: `score_too_high`. */
export const scoreLimit = 1000;

/** The most steps that a program takes besides its calls. Beyond it: `too_much_work`. */
export const stepLimit = 200_000;

/** The largest value that a program makes, in bytes as JSON. Beyond it: `value_too_large`. */
export const valueLimitBytes = 4_194_304;

/** The deepest nesting of lists and dicts in a value that a program makes. Beyond it: `value_too_large`. */
export const valueDepthLimit = 64;

/**
 * The room in an answer for the last value, in bytes as JSON. The results of all calls together have the same room
 * again. Beyond it: a last value fails with `result_too_large`, and the result of a call is replaced by its size.
 */
export const resultLimitBytes = 1_048_576;

/**
 * The time in which a program begins calls, in milliseconds. At the first call that would begin later: `out_of_time`.
 */
export const budgetMs = 20_000;

/**
 * The time in which a program begins calls of other services, in milliseconds. Such a call can take 16 seconds, and the
 * answer must be sent within 29 seconds. At the first such call that would begin later: `out_of_time`.
 */
export const outsideBudgetMs = 10_000;

/** The most reads of one program that run at the same time. Further reads wait. */
export const readsAtOnce = 20;

/**
 * The room for the variables of a session, in bytes as JSON. Beyond it: a variable is not kept, `session_too_large`.
 */
export const sessionLimitBytes = 262_144;

/** The most sessions of a principal. A further session ends the least recently used session. */
export const sessionsLimit = 100;
