import { type ReactElement, useRef } from 'react'
import { usePendingTokens, useRun, useStream, WaitpointProvider } from 'waitpoint/react'
import type { Run } from 'waitpoint'
import { Chat } from './chat.tsx'
import { Refund } from './refund.tsx'

/** What the server of the page gives it. */
export interface Given {
  readonly api: string
  readonly run?: string
  readonly token?: string
  readonly tag?: string
  readonly initial?: Run
  /** Runs, of each of which the page follows the run and its stream. */
  readonly board?: readonly string[]
}

/** The page of these tests: everything that it is given something for. */
export function App({
  api,
  accessToken,
  ...given
}: Given & { readonly accessToken: () => Promise<string> }): ReactElement {
  return (
    <WaitpointProvider baseUrl={api} accessToken={accessToken}>
      {given.run !== undefined && <Ticks run={given.run} />}
      {given.run !== undefined && <State run={given.run} initial={given.initial} />}
      {given.run !== undefined && <Chat run={given.run} />}
      {given.token !== undefined && <Refund id={given.token} />}
      {given.tag !== undefined && <Pending tag={given.tag} />}
      {given.board?.map((run, row) => (
        <Row key={run} run={run} row={row} />
      ))}
    </WaitpointProvider>
  )
}

function State({
  run: id,
  initial,
}: {
  readonly run: string
  readonly initial: Run | undefined
}): ReactElement {
  const { run, status } = useRun(id, { initial })
  return (
    <p>
      <b data-testid="run">{run?.status}</b> <i data-testid="connection">{status}</i>
    </p>
  )
}

/** How many chunks have come, and how often that was drawn. */
function Ticks({ run }: { readonly run: string }): ReactElement {
  const { chunks } = useStream<number>(run, 'ticks')
  const renders = useRef(0)
  renders.current += 1
  return (
    <p>
      <b data-testid="ticks">{chunks.length}</b>{' '}
      <i data-testid="renders" suppressHydrationWarning>
        {renders.current}
      </i>
      <i data-testid="in-order">{String(chunks.every((chunk, index) => chunk === index))}</i>
    </p>
  )
}

function Row({ run: id, row }: { readonly run: string; readonly row: number }): ReactElement {
  const { run } = useRun(id)
  const { chunks } = useStream<number>(id, 'ticks')
  const isInOrder = chunks.every((chunk, index) => chunk === index)
  return (
    <p data-testid={`row-${row}`}>
      {run?.status} {chunks.length} {String(isInOrder)}
    </p>
  )
}

function Pending({ tag }: { readonly tag: string }): ReactElement {
  const { tokens } = usePendingTokens({ tags: tag })
  return <p data-testid="pending">{tokens.map(({ question }) => question?.message).join(', ')}</p>
}
