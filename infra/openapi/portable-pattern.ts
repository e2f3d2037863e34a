/** One escape that JavaScript with the flag u, RE2 and Python's `re` read alike. */
const escape = String.raw`\\(?:[dDwWsSnrtfv]|x[0-9a-fA-F]{2}|[.*+?^$|()[\]{}\\/])`;

const oneOf = String.raw`\[(?!\^\])\^?(?:${escape}|[^\\[\]&~|])+\]`;

const group = String.raw`\((?:\?:|(?!\?))|\)`;

/** RE2 counts to 1,000. */
const count = String.raw`\{\d{1,3}(?:,\d{0,3})?\}`;

const token = `${escape}|${oneOf}|${group}|${count}|[*+?|^$.]|${String.raw`[^\\()[\]{}*+?|^$.]`}`;

const wholly = new RegExp(`^(?:${token})*$`);

/**
 * Whether a regular expression of JavaScript is also one of RE2 (Go) and of Python's `re`, with the same meaning: characters, classes of
 * them, groups, counts and alternatives; no properties (`\p`), look-around, names, references or Unicode escapes.
 */
export const isPortable = (pattern: string): boolean => wholly.test(pattern) && isBuilt(pattern);

function isBuilt(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").source !== "";
  } catch {
    return false;
  }
}
