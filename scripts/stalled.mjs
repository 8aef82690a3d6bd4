// `node scripts/stalled.mjs npm test -- --project core`: the same on a machine that has other things to do. Whatever the
// command starts, and what that starts, stands still now and then, for up to WAITPOINT_STALL_MS (default: 600). Linux only.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const [command, ...args] = process.argv.slice(2)
if (command === undefined) throw new Error('Cannot stall nothing: name a command')
const mostMs = Number(process.env.WAITPOINT_STALL_MS ?? 600)

const child = spawn(command, args, { stdio: 'inherit' })
const ended = once(child, 'exit')
// The command gets it as well, and ends: until then nothing may be left standing still.
process.on('SIGINT', () => undefined)

/** The parent of every process, by id; those that stand still, or are dead, not. */
const parents = () =>
  new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((id) => {
        try {
          // What follows the name, which may have spaces and parentheses, is the state and the parent.
          const [state, parent] = readFileSync(`/proc/${id}/stat`, 'utf8').split(') ').at(-1).split(' ')
          return [Number(id), 'TZ'.includes(state) ? 0 : Number(parent)]
        } catch {
          // It has ended meanwhile.
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
    // It has ended meanwhile.
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
