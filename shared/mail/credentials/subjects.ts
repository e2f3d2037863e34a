import * as z from "zod";

import { Id } from "../../core/ids.ts";
import { scopedInPath } from "../scoped/family.ts";
import { credentials } from "./credential.ts";

export const CredentialParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  credential_id: Id.meta({ description: "The master password's id." }),
});

/** The master password in the path of a route. */
export const credentialInPath = scopedInPath(credentials, "credential_id");
