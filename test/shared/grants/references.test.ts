import { expect, test } from "vitest";

import { notFound, Problem } from "../../../shared/core/errors.ts";
import { forSubject } from "../../../shared/grants/references.ts";

test("the error for a missing subject has the place of `subject_id` in the body", async () => {
  expect(await forSubject({ type: "user" }, Promise.resolve("planned"))).toBe("planned");
  await expect(forSubject({ type: "service_account" }, Promise.reject(notFound()))).rejects.toMatchObject({
    errors: [
      { loc: ["body", "subject_id"], type: "not_found", msg: expect.stringContaining("no such service account") },
    ],
  });
});

test.each([
  new Problem("limit_reached", "Enough."),
  new Error("a mistake"),
  Object.assign(new Error("elsewhere"), { code: "not_found" }),
])("any other error stays unchanged: %s", async (error) => {
  await expect(forSubject({ type: "user" }, Promise.reject(error))).rejects.toBe(error);
});
