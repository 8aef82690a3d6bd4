import { question, task } from 'waitpoint'

export const approval = question({
  id: 'approval',
  message: ({ doc }: { doc: string }) => `Publish ${doc}?`,
  choices: ['publish', 'drop'],
  timeout: '24h',
  onTimeoutText: 'It is dropped.',
})

export const publish = task({
  id: 'publish',
  run: async ({ doc }: { doc: string }) => {
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
