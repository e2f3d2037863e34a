/** The families of functions, in the order a reader meets them; a family is the first part of a function's name. */
export const families = [
  { name: "accounts", title: "Accounts", description: "The accounts you can see." },
  { name: "me", title: "Who you are", description: "Who you are." },
  { name: "workspaces", title: "Workspaces", description: "Containers for domains inside an account." },
  { name: "domains", title: "Domains", description: "Domains: connect or buy them, and see that their mail works." },
  {
    name: "dns_records",
    title: "DNS records",
    description: "The DNS records of domains, one by one and as zone files.",
  },
  { name: "mailboxes", title: "Mailboxes", description: "Mailboxes, their aliases and passwords." },
  {
    name: "credentials",
    title: "Master passwords",
    description: "Master passwords, which send mail from every mailbox in their scope.",
  },
  {
    name: "forwarding",
    title: "Forwarding",
    description: "Copies of mail to other addresses, whose recipients agree first.",
  },
  {
    name: "dedicated_ips",
    title: "Dedicated IPs",
    description: "Addresses of their own that domains send from: managed ones, and your own hosts.",
  },
  { name: "tags", title: "Tags", description: "Labels for domains." },
  { name: "auth", title: "Authorization", description: "Who may do what: grants, roles, groups and service accounts." },
  { name: "webhooks", title: "Webhooks", description: "Events of an account, posted to your own servers." },
  { name: "billing", title: "Billing", description: "The wallet, what is charged to it, plans and invoices." },
  { name: "feedback", title: "Feedback", description: "What you think of the product, told to us." },
  { name: "audit", title: "Audit log", description: "Who changed what." },
  { name: "functions", title: "Functions", description: "What there is to call in code mode, and how." },
  {
    name: "code",
    title: "Code mode",
    description: "Code mode: small programs of calls, for agents, by A2A-style envelope and by MCP.",
  },
];
