// written by kinen; `kinen uninstall` removes this file
import { spawn } from "node:child_process"
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const KINEN: string[] = ["kinen"]
const AGENT: string = "agent"
const COMMANDS: Record<string, { description: string; template: string }> = {}

/** The longest that a turn waits for kinen. After an answer that took longer, nothing waits until one is in time. */
const PATIENCE_MS = 700
/** A kinen that hangs is ended after this time. */
const LIMIT_MS = 30_000

let absent = false
let slow = false

/**
 * Hand one event to `kinen hook AGENT`; resolves to what it prints, or to nothing if it cannot.
 *
 * The event is in a file before the process starts, so that it is recorded even if this program
 * ends at once. No error of kinen gets through.
 */
function hook(event: string, fields: Record<string, unknown>): Promise<string> {
  if (absent) return Promise.resolve("")
  return new Promise((resolve) => {
    let folder = ""
    try {
      folder = mkdtempSync(join(tmpdir(), "kinen-"))
      const file = join(folder, "event.json")
      const payload = { hook_event_name: event, at: Date.now(), ...fields }
      writeFileSync(file, JSON.stringify(payload), { mode: 0o600 })
      const input = openSync(file, "r")
      const begun = Date.now()
      const child = spawn(KINEN[0]!, [...KINEN.slice(1), "hook", AGENT], {
        stdio: [input, "pipe", "ignore"],
        detached: true,
        windowsHide: true,
      })
      closeSync(input)
      const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS)
      timer.unref?.()
      let printed = ""
      child.stdout!.on("data", (data) => (printed += data))
      child.on("error", () => {
        absent = true
        clearTimeout(timer)
        resolve("")
      })
      child.on("close", (code) => {
        clearTimeout(timer)
        slow = Date.now() - begun > PATIENCE_MS
        resolve(code === 0 ? printed : "")
      })
      child.unref()
    } catch {
      resolve("")
    } finally {
      if (folder) rmSync(folder, { recursive: true, force: true })
    }
  })
}

/** What a promise resolves to, or nothing if that takes too long; it may be asked again later. */
function soon(answer: Promise<string> | undefined): Promise<string> {
  if (!answer) return Promise.resolve("")
  const late = new Promise<string>((resolve) => {
    const timer = setTimeout(
      () => {
        slow = true
        resolve("")
      },
      slow ? 1 : PATIENCE_MS,
    )
    void answer.then(() => clearTimeout(timer))
  })
  return Promise.race([answer, late])
}
