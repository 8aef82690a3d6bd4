import { type InferInputStreamType, streams, task } from '@trigger.dev/sdk'

export const approval = streams.input<{ approved: boolean; reviewer: string }>({ id: 'approval' })
export const cancelSignal = streams.input<{ reason?: string }>({ id: 'cancel' })
export const messages = streams.input<{ text: string; at?: Date }>({ id: 'messages' })

export type Approval = InferInputStreamType<typeof approval>

/** As the pages of the hosted service have it. */
export const publishPost = task({
  id: 'publish-post',
  run: async (payload: { postId: string }) => {
    const result = await approval.wait({ timeout: '7d', tags: [payload.postId], spanName: 'approval' })
    if (result.ok) {
      const { approved, reviewer }: Approval = result.output
      return { published: approved, reviewer }
    }
    return { published: false, timedOut: result.error.name }
  },
})

export const strictPost = task({
  id: 'strict-post',
  run: async () => (await approval.wait({ timeout: '24h' }).unwrap()).reviewer,
})

export const hurried = task({
  id: 'hurried',
  run: async (payload: { timeoutMs: number }) => {
    const result = await approval.once({ timeoutMs: payload.timeoutMs })
    if (result.ok) return `by ${result.output.reviewer}`
    return `${result.error.name}: ${result.error.message} (${result.error.streamId}, ${result.error.timeoutMs})`
  },
})

export const patient = task({
  id: 'patient',
  run: async () => (await approval.once().unwrap()).reviewer,
})

export const heard: string[] = []
export const said: string[] = []

/** Answers while a signal may stop it. */
export const stoppable = task({
  id: 'stoppable',
  run: async (payload: { words: string[] }) => {
    const controller = new AbortController()
    cancelSignal.on((data) => {
      heard.push(data.reason ?? 'no reason')
      if (data.reason === 'twice') throw new Error('it cannot be heard')
      controller.abort()
    })
    said.length = 0
    for (const word of payload.words) {
      const asked = await messages.wait().unwrap()
      if (controller.signal.aborted) break
      said.push(`${word} ${asked.text}`)
    }
    return [...said]
  },
})

export const told: string[] = []

export const lazy = task({
  id: 'lazy',
  run: async (payload: { idle: number; skipSuspend?: boolean }) => {
    const result = await messages.waitWithIdleTimeout({
      idleTimeoutInSeconds: payload.idle,
      timeout: '1h',
      onSuspend: () => void told.push('suspends'),
      onResume: async () => void told.push('resumes'),
      ...(payload.skipSuspend === undefined ? {} : { skipSuspend: payload.skipSuspend }),
    })
    if (result.ok) return `${result.output.text} ${typeof result.output.at}`
    return String(result.error?.name)
  },
})

export const reviewerTask = task({
  id: 'auto-reviewer',
  run: async (payload: { targetRunId: string }) => {
    await approval.send(
      payload.targetRunId,
      { approved: true, reviewer: 'auto-reviewer' },
      { requestOptions: { retry: { maxAttempts: 1 } } },
    )
  },
})
