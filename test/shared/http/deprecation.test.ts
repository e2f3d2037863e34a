import { expect, test } from "vitest";

import { routes } from "../../../functions/routes.ts";
import { dayMs, plusDays } from "../../../shared/core/time.ts";
import type { Deprecation } from "../../../shared/http/deprecation.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { answerOf, eventOf } from "../../support/request.ts";
import { newUser } from "../../support/world.ts";

const me = routes.find(({ name }) => name === "me.get");
if (me === undefined) throw new Error("there is no me.get");
const deprecated = { since: "2027-01-31", sunset: "2027-08-01", use: "me.permissions" };

test("each answer of a deprecated route says when it was deprecated, when it ends, and where to read more", async () => {
  const handler = http({ ...me, deprecated });
  for (const sent of [{ token: newUser().token }, {}]) {
    const answer = answerOf(await handler(eventOf("GET", "/v1/public/me", sent)));
    expect(answer.status).toBe("token" in sent ? 200 : 401);
    expect(answer.headers).toMatchObject({
      deprecation: "@1801353600",
      sunset: "Sun, 01 Aug 2027 00:00:00 GMT",
      link: '</docs/reference/me.get>; rel="deprecation"; type="text/html"',
    });
  }
  const { headers } = answerOf(await http(me)(eventOf("GET", "/v1/public/me")));
  expect(headers).not.toHaveProperty("deprecation");
});

test("the description of a deprecated route begins with the deprecation", () => {
  const { access: _, ...declared } = me;
  const { description } = defineRoute({
    ...declared,
    capability: null,
    open: "x",
    access: "read",
    deprecated,
  } as never);
  expect(description).toMatch(/^\*\*Deprecated\*\* since 2027-01-31. Call `me.permissions` instead. .* 2027-08-01\./);
});

/**
 * Whether a deprecated route is removed 180 days after its deprecation or later. True if the day of the removal is not
 * set.
 */
const isAnnouncedInTime = ({ since, sunset }: Deprecation): boolean =>
  sunset === undefined || Date.parse(sunset) - Date.parse(since) >= 180 * dayMs;

test("a route is removed 180 days after its deprecation at the earliest", () => {
  const removedAfter = (days: number): Deprecation => ({ since: "2027-01-31", sunset: plusDays("2027-01-31", days) });
  expect([{ since: "2027-01-31" }, removedAfter(180), removedAfter(179)].map(isAnnouncedInTime)).toEqual([
    true,
    true,
    false,
  ]);
  const late = routes.filter((route) => route.deprecated && !isAnnouncedInTime(route.deprecated));
  expect(late.map(({ name }) => name)).toEqual([]);
});
