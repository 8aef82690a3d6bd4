// `node scripts/stalled.mjs npm test -- --project core` simulates a busy machine. All processes started by the command
// are suspended now and then, for up to WAITPOINT_STALL_MS (default: 600). Linux only.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const [command, ...args] = process.argv.slice(2)
if (command === undefined) throw new Error('Cannot stall an empty command: name a command')
const mostMs = Number(process.env.WAITPOINT_STALL_MS ?? 600)

const child = spawn(command, args, { stdio: 'inherit' })
const ended = once(child, 'exit')
// The command receives the signal too, and ends. Until then, no process may stay suspended.
process.on('SIGINT', () => undefined)

/** The parent of every process, by id. Suspended and dead processes are missing. */
const parents = () =>
  new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((id) => {
        try {
          // The state and the parent follow the name, which may contain spaces and parentheses.
          const [state, parent] = readFileSync(`/proc/${id}/stat`, 'utf8').split(') ').at(-1).split(' ')
          return [Number(id), 'TZ'.includes(state) ? 0 : Number(parent)]
        } catch {
          // The process has ended in the meantime.
          return [Number(id), 0]
        }
      }),
  )

const descendants = () => {
  const all = parents()
  const isOurs = (id) => id === child.pid || (id > 1 && isOurs(all.get(id) ?? 0))
  return [...all.keys()].filter((id) => id !== child.pid && isOurs(id))
}

const signal = (id, name) => {
  try {
    process.kill(id, name)
  } catch {
    // The process has ended in the meantime.
  }
}

const stall = async (id) => {
  signal(id, 'SIGSTOP')
  await pause(Math.random() * mostMs)
  signal(id, 'SIGCONT')
}

let stalls = 0
while (child.exitCode === null && child.signalCode === null) {
  const ids = descendants()
  const id = ids[Math.floor(Math.random() * ids.length)]
  if (id !== undefined) {
    stalls += 1
    void stall(id)
  }
  await Promise.race([ended, pause(Math.random() * mostMs)])
}
console.log(`Stalled ${stalls} times`)
process.exitCode = child.exitCode ?? 1
