import { question, task } from 'waitpoint'
import { z } from 'zod'

export const approval = question({
  id: 'approval',
  message: ({ doc }: { doc: string }) => `Publish ${doc}?`,
  choices: ['publish', 'drop'],
  timeout: '24h',
  onTimeoutText: 'It is dropped.',
})

export const publish = task({
  id: 'publish',
  schema: z.object({ doc: z.string().min(1) }), // a payload without a doc is refused
  run: async ({ doc }) => {
    const answer = await approval.ask(
      { doc },
      {
        // Send a mail here. It is called once for a question, also if the process is restarted.
        notify: ({ token }) => console.log(`Publish ${doc}? Answer at ${token.link}`),
      },
    )
    return answer.ok && answer.output === 'publish' ? `${doc} is published` : `${doc} is dropped`
  },
})
