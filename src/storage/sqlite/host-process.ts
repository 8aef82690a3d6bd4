import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

let own: string | undefined

/** Names this process so that others of this host can tell whether it is still there. */
export function ownProcess(): string {
  return (own ??= `${space()} ${process.pid}`)
}

/**
 * Whether the process of this name is gone for certain. One of another host or container may be there or not, and so may
 * one whose number has gone to another process since: these are not said to be gone.
 */
export function isGone(name: string): boolean {
  const prefix = `${space()} `
  if (!name.startsWith(prefix)) return false
  const pid = Number(name.slice(prefix.length))
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as { readonly code?: unknown }).code === 'ESRCH'
  }
}

/** The name of this machine, for people. */
export function ownHost(): string {
  return hostname()
}

let known: string | undefined

/** Where the numbers of processes mean the same. */
function space(): string {
  if (known !== undefined) return known
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    known = `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    known = `${hostname()} ${process.platform}`
  }
  return known
}
