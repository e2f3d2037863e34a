import { InvalidInput, Problem } from "../core/errors.ts";
import { idSaying } from "../core/ids.ts";

const whereToFind =
  "the id of a user is the one that GET /v1/public/me shows them; auth.service_accounts.list and auth.groups.list show the others";

/** Who a grant, a role or a membership is for. */
export const SubjectId = idSaying(`This is no UUID: ${whereToFind}`);

/** The 422 of a body that names something the account does not have, or not any more. */
export const noSuch = (member: string, what: string): InvalidInput =>
  new InvalidInput([{ loc: ["body", member], msg: `There is no such ${what} in this account`, type: "not_found" }]);

/** A plan for a subject that the body names: one that the account does not have is told at its place. */
export async function forSubject<T>({ type }: { type: string }, plan: Promise<T>): Promise<T> {
  try {
    return await plan;
  } catch (error) {
    if (!(error instanceof Problem && error.code === "not_found")) throw error;
    throw noSuch("subject_id", `${type.replace("_", " ")} (${whereToFind})`);
  }
}
