/** Mistakes that change nothing anybody can notice, each with the reason; `npm run mutate` prints names in this form. */
const reasons: Readonly<Record<string, string>> = {};

export const equivalents: ReadonlySet<string> = new Set(Object.keys(reasons));
