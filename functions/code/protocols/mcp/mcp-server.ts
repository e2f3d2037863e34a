import { productName } from "../../../../shared/product-name.ts";
import { executeName, queryName } from "./tool.ts";

/** Who answers, in the words of MCP. */
export const serverInfo = { name: "hosted-mail-api", title: productName, version: "1.0.0" };
export const capabilities = { tools: {} };
export const instructions = `The ${productName}: accounts, workspaces, domains and DNS, mailboxes, forwarding, dedicated IPs, billing. ${queryName} runs programs that only read, ${executeName} every program. Put what belongs together into one program.`;
