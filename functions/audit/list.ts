import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import {
  aheadOfAudit,
  auditEntriesForFile,
  AuditEntry,
  auditFile,
  auditQuery,
  listAuditEntries,
} from "../../shared/audit/audit.ts";
import { pageOf, pageQuery, spanCheck } from "../../shared/core/page.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "audit.list",
  http: {
    method: "GET",
    path: "/v1/public/accounts/{account_id}/audit-log",
    file: {
      type: "text/csv",
      onlyIfPreferred: true,
      of: (output) => auditFile((output as { items: AuditEntry[] }).items),
    },
  },
  summary: "List the changes in the account",
  synonyms: ["who", "log", "history", "activity", "deleted", "changed", "did", "when"],
  description:
    "The audit log of the account: who changed what, when and from where. The newest entry comes first, unless you turn the order around. Entries are kept for 400 days. To filter by actor, action or resource, give a range of time that holds at most 20,000 entries. With `Accept: text/csv` the answer is a CSV file of all matching entries, and not only of one page. If more than 1,000 entries match, or if the file would be larger than an answer can be, the answer is a 422. A cell that a spreadsheet would read as a formula begins with an apostrophe.",
  capability: "auth.manage",
  access: "read",
  limit: "search",
  params: AccountParams,
  query: z.strictObject({ ...pageQuery, ...auditQuery }).refine(...spanCheck),
  output: pageOf(AuditEntry, "entries").meta({
    id: "AuditListResponse",
    description: "A page of the audit log.",
  }),
  ahead: ({ params, query }) => aheadOfAudit(params.account_id, query),
  run: async ({ params, query }, context) => ({
    ...(await (context.wantsFile ? auditEntriesForFile : listAuditEntries)(params.account_id, query, context)),
    ...query,
  }),
});

export const handler = http(route);
