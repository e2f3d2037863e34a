/**
 * Text for people: something one can see in it, and no control characters, halves of surrogate pairs, or marks that turn
 * around what stands beside them (UAX #9). Empty is left to `min`.
 */
export const visibleText = /^(?:(?=.*[\p{L}\p{M}\p{N}\p{P}\p{S}])[^\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]+)?$/u;
export const visibleTextError =
  "Write text that can be seen, without control characters, marks that turn text around, or unpaired surrogates";

/** The same for text in lines, which end with a line feed and may have tabs. */
export const visibleLines =
  /^(?:(?=[\s\S]*[\p{L}\p{M}\p{N}\p{P}\p{S}])(?:[^\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]|[\t\n])+)?$/u;
export const visibleLinesError =
  "Write text that can be seen, without control characters but line ends and tabs, marks that turn text around, or unpaired surrogates";
