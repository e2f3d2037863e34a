import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { ClaimAnswer, claimIp, isPreview } from "../../shared/billing/claim.ts";
import { DryRun } from "../../shared/billing/preview.ts";
import { line } from "../../shared/core/text.ts";
import { aheadOfClaim } from "../../shared/dedicated-ips/claim.ts";
import { OptionId } from "../../shared/dedicated-ips/options.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { planRequired } from "../../shared/wallet/state.ts";

export const route = defineRoute({
  name: "dedicated_ips.claim",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/dedicated-ips/claim",
    status: 201,
    location: "/v1/public/accounts/{account_id}/dedicated-ips/{id}",
    isDryRun: isPreview,
  },
  summary: "Claim a managed dedicated IP",
  synonyms: ["buy", "get", "order", "new", "own", "address", "sending", "reputation"],
  description:
    "Takes a free address. Holds the price of its first 30 days, with VAT, in the wallet. Once the reverse DNS of the address is confirmed, usually within seconds, the dedicated IP is `active` and the hold is captured. If the reverse DNS is not confirmed within a day, the dedicated IP is deleted and the hold is voided. After the first 30 days the plan charges the dedicated IP by the day, until you delete it. A new dedicated IP has a warm-up of 28 days. On its first day it sends 50 mails at most, and the limit grows. A mail to three recipients counts as three. Mail above the limit is refused for now (`451 4.7.1`), and does not leave from the shared addresses: send it again the next day (UTC). `dedicated_ips.get` shows the limit in `warm_up`. With `dry_run`, nothing is claimed. The answer is then a 200 with an example of the dedicated IP. The `id` and the address of the example belong to nobody. `preview` has the cost of the IP now and in the coming periods.",
  capability: "ip.manage",
  access: "write",
  usesPermissions: true,
  requires: planRequired,
  limit: "outbound",
  params: AccountParams,
  body: z
    .strictObject({
      option_id: OptionId.meta({
        description: "An option of `dedicated_ips.available_options`.",
        examples: ["eu-frankfurt"],
      }),
      name: line({
        most: 100,
        description: "The dedicated IP's name. The default is the name of its host.",
      }).optional(),
      dry_run: DryRun,
    })
    .meta({ id: "DedicatedIpClaim", description: "A managed dedicated IP to claim." }),
  output: ClaimAnswer,
  problems: ["out_of_stock", "insufficient_funds", "plan_cancelled", "limit_reached"],
  ahead: ({ params, body }) => aheadOfClaim(params.account_id, body.option_id),
  run: ({ params, body }, context) =>
    claimIp(
      { accountId: params.account_id, optionId: body.option_id, name: body.name },
      body.dry_run ?? false,
      context,
    ),
});

export const handler = http(route);
