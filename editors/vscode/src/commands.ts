/** Checkpoints and plans from the palette. */

import * as path from "node:path";
import * as vscode from "vscode";
import type { Plan } from "./answers";
import type { Client } from "./client";
import { label } from "./text";
import { folderOf } from "./workspace";

const TYPES = [
  { label: "checkpoint", description: "what was done" },
  { label: "decision", description: "what was decided, and why" },
  { label: "learning", description: "what was learned" },
  { label: "incident", description: "what went wrong" },
];

function requiredFolder(): string {
  const folder = folderOf();
  if (!folder) {
    throw new Error("open a folder first");
  }
  return folder;
}

export async function saveCheckpoint(client: Client): Promise<void> {
  const folder = requiredFolder();
  const type = await vscode.window.showQuickPick(TYPES, { title: "Save a Checkpoint", placeHolder: "Type" });
  if (!type) {
    return;
  }
  const text = await vscode.window.showInputBox({
    title: `Save a Checkpoint: ${type.label}`,
    prompt: "What was done, and why? Branch, commit and changed files are added.",
    validateInput: (value) => (value.trim() ? undefined : "Write a sentence."),
  });
  if (text) {
    await client.checkpoint(folder, text, type.label);
    vscode.window.setStatusBarMessage("kinen: checkpoint saved", 5000);
  }
}

interface Choice extends vscode.QuickPickItem {
  run?: () => Promise<void>;
}

/** The steps of the active plan to tick off, then the other plans to switch to. */
export async function showPlan(client: Client): Promise<void> {
  const folder = requiredFolder();
  const plans = await client.plans(folder);
  const active = plans.find((plan) => plan.active);
  const others = plans.filter((plan) => !plan.active);
  const choices: Choice[] = [
    ...(active ? activeChoices(client, folder, active) : []),
    { label: "Plans", kind: vscode.QuickPickItemKind.Separator },
    ...others.map((plan): Choice => ({
      label: `$(notebook) ${label(plan.title, 80)}`,
      description: label(plan.status, 20),
      run: () => client.activatePlan(folder, plan.id),
    })),
    { label: "$(add) New plan", run: () => newPlan(client) },
  ];
  const title = active ? `Plan: ${label(active.title, 60)}` : "No plan is active";
  const choice = await vscode.window.showQuickPick(choices, { title, placeHolder: "A step ticks it off, a plan makes it the active one" });
  await choice?.run?.();
}

function activeChoices(client: Client, folder: string, plan: Plan): Choice[] {
  const steps = plan.steps.map((step): Choice => ({
    label: `${step.done ? "$(pass-filled)" : "$(circle-large-outline)"} ${label(step.text, 100)}`,
    run: async () => {
      await client.checkStep(folder, plan.id, step.number, step.done);
      await showPlan(client);
    },
  }));
  const open: Choice = { label: "$(go-to-file) Open the plan", description: label(plan.path), run: () => openPlan(client, folder, plan) };
  return [...steps, open];
}

export async function newPlan(client: Client): Promise<void> {
  const folder = requiredFolder();
  const title = await vscode.window.showInputBox({ title: "New Plan", prompt: "Title", validateInput: (value) => (value.trim() ? undefined : "Write a title.") });
  if (!title) {
    return;
  }
  const plan = await client.savePlan(folder, title, "- [ ] first step\n");
  await openPlan(client, folder, plan);
}

/** A plan's path is relative to the space, which may begin above the workspace. */
async function openPlan(client: Client, folder: string, plan: Plan): Promise<void> {
  const { root } = await client.status(folder);
  await vscode.window.showTextDocument(vscode.Uri.file(path.join(root || folder, plan.path)));
}
