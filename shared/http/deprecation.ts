/** The announcement that a route will be removed. Dates are days, in UTC: `2027-03-01`. */
export type Deprecation = {
  /** The day from which the route is deprecated. */
  since: string;
  /** The day on which the route is removed, at least 180 days after `since`; undefined if the day is not decided. */
  sunset?: string;
  /** The name of the function to call instead. */
  use?: string;
};

const timeOf = (day: string): Date => new Date(`${day}T00:00:00Z`);

/** The announcement in words, for the descriptions of the function. */
export const deprecationNote = ({ since, sunset, use }: Deprecation): string =>
  [
    `**Deprecated** since ${since}.`,
    ...(use === undefined ? [] : [`Call \`${use}\` instead.`]),
    ...(sunset === undefined ? [] : [`The function is removed on ${sunset}.`]),
  ].join(" ");

/**
 * The headers of each answer of a deprecated route: `Deprecation` (RFC 9745), `Link`, and `Sunset` (RFC 8594) if the
 * day of the removal is decided.
 */
export const deprecationHeaders = (name: string, { since, sunset }: Deprecation): Record<string, string> => ({
  deprecation: `@${timeOf(since).getTime() / 1000}`,
  ...(sunset === undefined ? {} : { sunset: timeOf(sunset).toUTCString() }),
  link: `</docs/reference/${name}>; rel="deprecation"; type="text/html"`,
});
