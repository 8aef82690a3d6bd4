import type { ForTokenOptions, WaitForOptions, WaitUntilOptions } from '../../api/token.ts'
import { chain } from '../../primitives/awaitable.ts'
import { type OptionNames, requireFlag } from '../../primitives/require.ts'
import type { Settlement } from '../attempt/attempt.ts'
import type { Kernel } from '../kernel.ts'
import { passPlace } from '../waits/key.ts'
import { SLEEP_PARTS, sleepDeadline } from '../waits/sleep.ts'
import { askToken, beginWait, placeInRun } from './asked-wait.ts'
import { userKey } from './new-run.ts'

const NAMES: OptionNames<ForTokenOptions> = {
  idempotencyKey: true,
  idempotencyKeyTTL: true,
  name: true,
  signal: true,
}
const FOR_NAMES: OptionNames<WaitForOptions> = /* @__PURE__ */ Object.assign({}, NAMES, SLEEP_PARTS)
const UNTIL_NAMES: OptionNames<WaitUntilOptions> = /* @__PURE__ */ Object.assign(
  { date: true, throwIfInThePast: true },
  NAMES,
)

/** A sleep of the run that calls, for a time. */
export function sleepFor(kernel: Kernel, options: WaitForOptions): Promise<void> {
  return sleep(kernel, { kind: 'for', options, names: FOR_NAMES }, () => options)
}

/** A sleep of the run that calls, until an instant. */
export function sleepUntil(kernel: Kernel, options: WaitUntilOptions): Promise<void> {
  return sleep(kernel, { kind: 'until', options, names: UNTIL_NAMES }, () => {
    const { date, throwIfInThePast = false } = options
    requireFlag(throwIfInThePast, 'throwIfInThePast')
    return { date, throwIfInThePast }
  })
}

interface SleepCall {
  readonly kind: 'for' | 'until'
  readonly options: WaitForOptions | WaitUntilOptions
  readonly names: Readonly<Record<string, unknown>>
}

function sleep(
  kernel: Kernel,
  { kind, options, names }: SleepCall,
  time: () => Parameters<typeof sleepDeadline>[0],
): Promise<void> {
  return beginWait(kernel, { what: `wait.${kind}`, options, names, read: readSleep }, (scope) => {
    const now = kernel.host.now()
    const { timeoutAt, past } = sleepDeadline(time(), now)
    const asked = { kind, name: options.name, content: undefined }
    const key = userKey(options, 'sleeps', now) ?? placeInRun(kernel, scope, asked)
    if (key?.expiresAt !== undefined) passPlace(kind)
    const token = { asks: kind, kind: 'SLEEP', timeoutAt, tags: [], key, now, scope } as const
    return chain(askToken(kernel, token, past), ({ record }) => record.id)
  })
}

const SLEPT = { result: undefined, output: undefined }

function readSleep(): Settlement<undefined, undefined> {
  return SLEPT
}
