import { task, wait } from '@trigger.dev/sdk'

interface Answer {
  by: string
  choice: 'a' | 'b'
}

/** Several people are asked one after the other; each has a day. */
export const poll = task({
  id: 'ask-people',
  run: async ({ people }: { people: string[] }) => {
    const answers: Record<string, string> = {}
    for (const person of people) {
      const token = await wait.createToken({ timeout: '1d', tags: `person:${person}` })
      const result = await wait.forToken<Answer>(token)
      answers[person] = result.ok ? result.output.choice : result.error.name
    }
    return answers
  },
  onWait: async ({ wait: on }) => {
    waited.push(on.type === 'token' ? 'token' : 'other')
  },
})

export const waited: string[] = []

/** As a route of a web application. */
export async function answer(person: string, choice: Answer['choice']) {
  for await (const { id } of wait.listTokens({ tags: [`person:${person}`], status: 'WAITING' }))
    await wait.completeToken<Answer>({ id }, { by: person, choice })
}
