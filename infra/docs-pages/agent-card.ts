import { catalogue } from "../../functions/code/catalogue.ts";
import { exampleOf } from "../../functions/code/catalogue/example.ts";
import type { CodeFunction } from "../../functions/code/catalogue/function.ts";
import { dataType, textType } from "../../functions/code/protocols/a2a/message.ts";
import { a2aVersion } from "../../functions/code/protocols/a2a/rpc.ts";
import { productName } from "../../shared/core/product.ts";
import { families } from "../openapi/routes.ts";

/** The placeholder for the API's address. The `docs` Lambda replaces this placeholder when it serves the card. */
const addressPlaceholder = "{address}";

const familyOf = ({ route }: CodeFunction): string => route.name.split(".")[0] ?? "";

/**
 * Builds the agent card of A2A 1.0 (§4.4). Each skill is a family of functions. The skill's description names the
 * functions.
 */
export function agentCard(): object {
  const modes = [dataType, textType];
  return {
    name: productName,
    description:
      'Manages hosted-mail accounts: domains, DNS, mailboxes, forwarding, billing and permissions. Send it a small program of function calls in a subset of Starlark, as a data part {"code": "…"} or as a text part. It does not understand natural language. The whole program is checked before the first call runs. functions.search(query="…") and functions.explain(name="…") describe the functions. With dry_run: true in the data part, the program changes nothing.',
    version: "1.0.0",
    documentationUrl: `${addressPlaceholder}/docs/code-mode`,
    supportedInterfaces: [
      { url: `${addressPlaceholder}/v1/public/a2a`, protocolBinding: "JSONRPC", protocolVersion: a2aVersion },
    ],
    capabilities: { streaming: false, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: {
      bearer: {
        httpAuthSecurityScheme: {
          scheme: "Bearer",
          bearerFormat: "JWT",
          description: "An access token of a configured issuer, or a service account's token (sat_…).",
        },
      },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: families.flatMap(skillOf),
  };
}

function skillOf({ name, title, description }: (typeof families)[number]): object[] {
  const functions = [...catalogue.values()].filter((fn) => familyOf(fn) === name);
  if (functions.length === 0) return [];
  const names = functions.map(({ route }) => route.name);
  return [
    {
      id: name,
      name: title,
      description: `${description} Functions: ${names.join(", ")}.`,
      tags: [...new Set(names.flatMap((one) => one.split(".").slice(0, -1)))],
      examples: functions.slice(0, 2).map(exampleOf),
    },
  ];
}
