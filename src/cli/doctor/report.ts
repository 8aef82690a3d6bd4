import type { InspectedOwner, StorageInspection } from '../../storage/inspection.ts'
import { factsText } from '../output/table.ts'
import { instantText, lengthText, momentText } from '../output/time.ts'
import { KEPT_MS } from '../reach/reach.ts'
import { type Finding, isAlive } from './findings.ts'

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const
/** Engines that are gone are kept for a while: the newest are enough. */
const MOST_OWNERS = 10

/** What a storage holds, for people. */
export function reportText(
  name: string,
  inspection: StorageInspection,
  { findings, clock }: { readonly findings: readonly Finding[]; readonly clock: number },
): string {
  const { schema, now, sizes, records } = inspection
  const { oldestWaiting, oldestInLine } = records ?? {}
  const skew = clock - now
  const facts = factsText([
    ['storage', name],
    [
      'schema',
      schema.version === undefined
        ? 'none'
        : `version ${schema.version}${schema.version === schema.known ? '' : `, this program knows ${schema.known}`}`,
    ],
    [
      'sizes',
      Object.entries(sizes)
        .map(([part, bytes]) => `${part} ${bytesText(bytes)}`)
        .join(', ') || undefined,
    ],
    [
      'clock',
      Math.abs(skew) < 1_000
        ? `${instantText(now)}, as here`
        : `${instantText(now)}, ${lengthText(Math.abs(skew))} ${skew > 0 ? 'behind' : 'ahead of'} this machine`,
    ],
    ['runs', records && countsText(records.runs)],
    ['tokens', records && countsText(records.tokens)],
    [
      'oldest waiting',
      oldestWaiting &&
        `${oldestWaiting.id}, created ${momentText(oldestWaiting.createdAt, now)}${oldestWaiting.timeoutAt === undefined ? '' : `, until ${momentText(oldestWaiting.timeoutAt, now)}`}`,
    ],
    ['first in line', oldestInLine && `${oldestInLine.id}, since ${momentText(oldestInLine.since, now)}`],
    ['engines', records && ownersText(records.owners, now)],
    [
      'to be forgotten',
      records &&
        `${records.prunable} records ended more than ${lengthText(KEPT_MS)} ago: an engine with the usual retention drops those that nothing needs`,
    ],
  ])
  const found = findings.map(({ kind, message }) => `${kind === 'problem' ? '✗' : '!'} ${message}`)
  return `${facts}\n\n${found.length === 0 ? '✓ Nothing is wrong.' : found.join('\n')}`
}

function countsText(counts: Readonly<Record<string, number>>): string {
  const entries = Object.entries(counts)
  return entries.length === 0 ? 'none' : entries.map(([status, count]) => `${count} ${status}`).join(', ')
}

function ownersText(owners: readonly InspectedOwner[], now: number): string {
  if (owners.length === 0) return 'none'
  const lines = owners.slice(0, MOST_OWNERS).map((owner) => {
    const lease =
      owner.until === undefined ? 'a lease without an end' : `a lease until ${momentText(owner.until, now)}`
    return `${owner.owner}: ${isAlive(owner, now) ? 'alive' : 'gone'}, ${lease}, holds ${owner.runs} ${owner.runs === 1 ? 'run' : 'runs'}`
  })
  const more = owners.length - lines.length
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n')
}

function bytesText(bytes: number): string {
  const at = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const value = bytes / 1_024 ** at
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[at] ?? ''}`
}
