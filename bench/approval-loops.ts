import type { Approvals } from './bare/approvals.ts'

export const AT_ONCE = 1_000

export async function oneAfterAnother(approvals: Approvals, count: number): Promise<void> {
  for (let run = 0; run < count; run++) {
    const handle = await approvals.trigger({ doc: 'chapter 1' })
    await approvals.complete(await approvals.asked(), { approved: true })
    await handle.result()
  }
}

/** Runs in crowds: a thousand runs, or `atOnce`, wait together before the next crowd starts. */
export async function inCrowds(
  approvals: Approvals,
  { count, isParked, atOnce = AT_ONCE }: CrowdCourse,
): Promise<void> {
  for (let left = count; left > 0; left -= atOnce) {
    await oneCrowd(approvals, { size: Math.min(left, atOnce), isParked })
  }
}

/** All runs wait before the first one is completed. */
async function oneCrowd(
  approvals: Approvals,
  { size, isParked }: { readonly size: number; readonly isParked: boolean },
): Promise<void> {
  const crowd = Array.from({ length: size })
  const handles = await Promise.all(crowd.map(() => approvals.trigger({ doc: 'chapter 1' })))
  const tokens: string[] = []
  while (tokens.length < size) tokens.push(await approvals.asked())
  if (isParked) await approvals.parked()
  await Promise.all(tokens.map((token) => approvals.complete(token, { approved: true })))
  await Promise.all(handles.map((handle) => handle.result()))
}

interface CrowdCourse {
  readonly count: number
  readonly isParked: boolean
  readonly atOnce?: number
}
