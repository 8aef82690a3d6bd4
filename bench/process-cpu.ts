import { readdirSync, readFileSync } from 'node:fs'

/** The CPU time of a process on this machine, in nanoseconds, with all its threads. `undefined` where that is not to be seen. */
export function processCpuNs(pid: number | string): number | undefined {
  try {
    const folder = `/proc/${pid}/task`
    return readdirSync(folder).reduce((sum, thread) => sum + threadNs(`${folder}/${thread}`), 0)
  } catch {
    return undefined
  }
}

function threadNs(folder: string): number {
  const [ns = '0'] = readFileSync(`${folder}/schedstat`, 'utf8').split(' ')
  return Number(ns)
}
