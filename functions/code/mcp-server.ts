import { executeName, queryName } from "./tool.ts";

/** Who answers, in the words of MCP. */
export const serverInfo = { name: "code-api-public", title: "Code API (Public)", version: "1.0.0" };
export const capabilities = { tools: {} };
export const instructions = `Hosted mail: accounts, workspaces, domains and DNS, mailboxes, forwarding, dedicated IPs, billing. ${queryName} runs programs that only read, ${executeName} every program. Put what belongs together into one program.`;
