/** A stack's settings with which payments, mail and mail servers work. */
export const payments = {
  paymentsSecretName: "mail/stripe",
  publicUrl: "https://api.example",
  mailSecretName: "mail/servers",
};

/** The grant to read a secret. */
export const onSecret = (name: string) => [
  ["secretsmanager:GetSecretValue"],
  {
    "Fn::Join": [
      "",
      [
        "arn:",
        { Ref: "AWS::Partition" },
        ":secretsmanager:",
        { Ref: "AWS::Region" },
        ":",
        { Ref: "AWS::AccountId" },
        `:secret:${name}-??????`,
      ],
    ],
  },
];

/** The grant to send mail with this resource of SES. */
export const onSes = (...resources: string[]) => {
  const arns = resources.map((resource) => ({
    "Fn::Join": [
      "",
      [
        "arn:",
        { Ref: "AWS::Partition" },
        ":ses:",
        { Ref: "AWS::Region" },
        ":",
        { Ref: "AWS::AccountId" },
        `:${resource}`,
      ],
    ],
  }));
  return [["ses:SendEmail"], arns.length === 1 ? arns[0] : arns];
};
