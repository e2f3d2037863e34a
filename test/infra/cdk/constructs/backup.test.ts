import { expect, test } from "vitest";

import { only, spec, synthesize } from "../synthesis.ts";

const elsewhere = "arn:aws:backup:eu-central-1:123456789012:backup-vault:hosted-mail";
const otherAccount = "arn:aws:backup:eu-west-1:210987654321:backup-vault:hosted-mail";
const copied = synthesize([spec("me.get")], {
  backup: { keepDays: 60, lock: "compliance", lockDays: 7, copyTo: [elsewhere, otherAccount] },
});
const [vaultId, vault] = only(copied, "AWS::Backup::BackupVault");

test("without the setting there is no backup beside point-in-time recovery", () => {
  const plain = synthesize([spec("me.get")]);
  for (const type of ["BackupVault", "BackupPlan", "BackupSelection"]) {
    expect(plain.findResources(`AWS::Backup::${type}`)).toEqual({});
  }
});

test("the vault outlives the stack, and refuses to delete a backup before its time", () => {
  expect(vault).toMatchObject({ DeletionPolicy: "Retain", UpdateReplacePolicy: "Retain" });
  expect(vault["Properties"]).toEqual({
    BackupVaultName: "hosted-mail-dev",
    LockConfiguration: { MinRetentionDays: 60, ChangeableForDays: 7 },
  });
});

test("by default, a user with the right to do so can remove the lock", () => {
  const [, governed] = only(synthesize([spec("me.get")], { backup: "{}" }), "AWS::Backup::BackupVault");
  expect(governed["Properties"].LockConfiguration).toEqual({ MinRetentionDays: 35 });
});

test("the table is backed up each day, and the copies in the other vaults are kept as long as the backup", () => {
  const [, plan] = only(copied, "AWS::Backup::BackupPlan");
  const Lifecycle = { DeleteAfterDays: 60 };
  expect(plan["Properties"].BackupPlan).toEqual({
    BackupPlanName: "hosted-mail-dev",
    BackupPlanRule: [
      {
        RuleName: "daily",
        ScheduleExpression: "cron(0 3 * * ? *)",
        TargetBackupVault: { "Fn::GetAtt": [vaultId, "BackupVaultName"] },
        Lifecycle,
        CopyActions: [
          { DestinationBackupVaultArn: elsewhere, Lifecycle },
          { DestinationBackupVaultArn: otherAccount, Lifecycle },
        ],
      },
    ],
  });
  const [tableId] = only(copied, "AWS::DynamoDB::Table");
  const [, selection] = only(copied, "AWS::Backup::BackupSelection");
  expect(selection["Properties"].BackupSelection.Resources).toEqual([{ "Fn::GetAtt": [tableId, "Arn"] }]);
});

test("only AWS Backup can use the role that reads the table", () => {
  const [, selection] = only(copied, "AWS::Backup::BackupSelection");
  const [roleId] = selection["Properties"].BackupSelection.IamRoleArn["Fn::GetAtt"];
  const { AssumeRolePolicyDocument, ManagedPolicyArns } =
    copied.findResources("AWS::IAM::Role")[roleId]?.["Properties"] ?? {};
  expect(AssumeRolePolicyDocument.Statement).toEqual([
    { Action: "sts:AssumeRole", Effect: "Allow", Principal: { Service: "backup.amazonaws.com" } },
  ]);
  expect(JSON.stringify(ManagedPolicyArns)).toContain("service-role/AWSBackupServiceRolePolicyForBackup");
});
