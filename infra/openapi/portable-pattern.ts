/** Matches an escape that JavaScript (flag u), RE2 and Python's `re` all know. */
const escape = String.raw`\\(?:[dDwWsSnrtfv]|x[0-9a-fA-F]{2}|[.*+?^$|()[\]{}\\/])`;

/**
 * Matches a character class. The class contains no unescaped `[`, `&`, `|` or `~`, because Python reserves these
 * characters for operations on sets.
 */
const characterClass = String.raw`\[(?!\^\])\^?(?:${escape}|[^\\[\]&~|])+\]`;

/** Matches `(`, `(?:` or `)`. Does not match the beginning of a group with a name, or of look-around. */
const group = String.raw`\((?:\?:|(?!\?))|\)`;

/** Matches a count of at most 999. RE2 refuses more than 1,000 repetitions. */
const count = String.raw`\{\d{1,3}(?:,\d{0,3})?\}`;

/** Matches a character that stands for itself. */
const plainCharacter = String.raw`[^\\()[\]{}*+?|^$.]`;

const tokenPattern = `${escape}|${characterClass}|${group}|${count}|[*+?|^$.]|${plainCharacter}`;

const portable = new RegExp(`^(?:${tokenPattern})*$`);

/**
 * Whether JavaScript, RE2 (Go) and Python's `re` can all read a pattern. The three may still differ in two points: the
 * characters outside ASCII that `\d`, `\w` and `\s` match, and `$` before a final line break.
 * - Allowed: characters, character classes, groups, counts and alternatives.
 * - Not allowed: properties (`\p`), look-around, groups with a name, references to groups, and Unicode escapes.
 */
export const isPortable = (pattern: string): boolean => portable.test(pattern) && compiles(pattern);

function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").source !== "";
  } catch {
    return false;
  }
}
