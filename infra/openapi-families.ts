/** The families of functions, in the order a reader meets them; a family is the first part of a function's name. */
export const families = [
  { name: "accounts", description: "The accounts you can see." },
  { name: "me", description: "Who you are." },
  { name: "workspaces", description: "Containers for domains inside an account." },
  { name: "domains", description: "Domains: connect or buy them, and see that their mail works." },
  { name: "dns_records", description: "The DNS records of domains, one by one and as zone files." },
  { name: "mailboxes", description: "Mailboxes, their aliases and passwords." },
  { name: "credentials", description: "Master passwords, which send mail from every mailbox in their scope." },
  { name: "forwarding", description: "Copies of mail to other addresses, whose recipients agree first." },
  {
    name: "dedicated_ips",
    description: "Addresses of their own that domains send from: managed ones, and your own hosts.",
  },
  { name: "tags", description: "Labels for domains." },
  { name: "auth", description: "Who may do what: grants, roles, groups and service accounts." },
  { name: "webhooks", description: "Events of an account, posted to your own servers." },
  { name: "billing", description: "The wallet, what is charged to it, plans and invoices." },
  { name: "feedback", description: "What you think of the product, told to us." },
  { name: "audit", description: "Who changed what." },
  { name: "code", description: "Code mode: small programs of calls, for agents, by A2A-style envelope and by MCP." },
];
