import { readdirSync, readFileSync } from 'node:fs'
import type { BenchPool } from './postgres-bed.ts'
import { processCpuNs } from './process-cpu.ts'

/** Ticks in which Linux counts the time of processes. */
const TICKS_PER_SECOND = 100
const NS_PER_SECOND = 1e9
/** Fields of `/proc/PID/stat` behind the name of the program, which is in parentheses. */
const PARENT = 1
const CHILDREN_IN_USER = 13
const CHILDREN_IN_KERNEL = 14

/**
 * The CPU time of a Postgres server on this machine, in nanoseconds: of all its processes, those that have ended
 * included. `undefined` where the server is elsewhere, or not on Linux.
 */
export async function serverCpuNs(pool: BenchPool): Promise<number | undefined> {
  const { rows } = await pool.query('SELECT pg_backend_pid() AS pid')
  const [{ pid } = { pid: 0 }] = rows as readonly { readonly pid: number }[]
  try {
    const server = Number(statOf(pid)[PARENT])
    const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOf(name, server))
    const stat = statOf(server)
    const ended = Number(stat[CHILDREN_IN_USER]) + Number(stat[CHILDREN_IN_KERNEL])
    const endedNs = (ended * NS_PER_SECOND) / TICKS_PER_SECOND
    return processes.reduce((sum, one) => sum + (processCpuNs(one) ?? 0), endedNs)
  } catch {
    return undefined
  }
}

function isOf(pid: string, server: number): boolean {
  if (Number(pid) === server) return true
  try {
    return Number(statOf(pid)[PARENT]) === server
  } catch {
    // It has ended since.
    return false
  }
}

function statOf(pid: number | string): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}
