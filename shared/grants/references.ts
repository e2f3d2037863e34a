import { invalidAt, type InvalidInput, Problem } from "../core/errors.ts";
import { idWithMessage } from "../core/ids.ts";

const whereToFind =
  "users see their own id in GET /v1/public/me; auth.service_accounts.list and auth.groups.list show the other ids";

/** The id of the subject of a grant, a role or a membership. */
export const SubjectId = idWithMessage(`This is not a UUID (${whereToFind})`);

/**
 * The 422 for a body whose `member` names a resource that the account does not have. `type` is the type of the
 * resource, in words for people.
 */
export const missingReference = (member: string, type: string): InvalidInput =>
  invalidAt(["body", member], `There is no such ${type} in this account`, "not_found");

/** Awaits a plan for a subject that the body names. Turns a 404 of the plan into a 422 at `subject_id`. */
export async function forSubject<T>({ type }: { type: string }, plan: Promise<T>): Promise<T> {
  try {
    return await plan;
  } catch (error) {
    if (!(error instanceof Problem && error.code === "not_found")) throw error;
    throw missingReference("subject_id", `${type.replace("_", " ")} (${whereToFind})`);
  }
}
