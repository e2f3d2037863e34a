/** An escape with the same meaning in JavaScript (flag u), RE2 and Python's `re`. */
const escape = String.raw`\\(?:[dDwWsSnrtfv]|x[0-9a-fA-F]{2}|[.*+?^$|()[\]{}\\/])`;

const oneOf = String.raw`\[(?!\^\])\^?(?:${escape}|[^\\[\]&~|])+\]`;

const group = String.raw`\((?:\?:|(?!\?))|\)`;

/** RE2 allows up to 1,000 repetitions. */
const count = String.raw`\{\d{1,3}(?:,\d{0,3})?\}`;

const tokenPattern = `${escape}|${oneOf}|${group}|${count}|[*+?|^$.]|${String.raw`[^\\()[\]{}*+?|^$.]`}`;

const wholly = new RegExp(`^(?:${tokenPattern})*$`);

/**
 * Tells whether a regular expression has the same meaning in JavaScript, RE2 (Go) and Python's `re`. Allowed are
 * characters, character classes, groups, counts and alternatives; not allowed are properties (`\p`), look-around,
 * names, references and Unicode escapes.
 */
export const isPortable = (pattern: string): boolean => wholly.test(pattern) && isBuilt(pattern);

function isBuilt(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").source !== "";
  } catch {
    return false;
  }
}
