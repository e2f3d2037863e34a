/** Text for people: something one can see in it, and no control characters or halves of surrogate pairs. Empty is left to `min`. */
export const visibleText = /^(?:(?=.*[\p{L}\p{M}\p{N}\p{P}\p{S}])[^\p{Cc}\p{Cs}]+)?$/u;
export const visibleTextError = "Write text that can be seen, without control characters or unpaired surrogates";
