// An express application with an engine in it: `npm install waitpoint express`, then
// `SECRET_KEY=… PORT=3000 node main.mjs`. Clients with the key use the engine at http://localhost:3000/engine.
import { once } from 'node:events'
import express from 'express'
import { createEngine, metadata, task, wait } from 'waitpoint'
import { createHandler, toNodeListener } from 'waitpoint/http'

const review = task({
  id: 'review',
  run: async ({ doc }) => {
    await metadata.stream('draft', wordsAbout(doc))
    const token = await wait.createToken({ timeout: '1h' })
    metadata.set('approveAt', token.url)
    return await wait.forToken(token).unwrap()
  },
})

/** Text as a model would write it. */
async function* wordsAbout(doc) {
  yield* ['Dear', 'reader', 'of', doc]
}

const app = express()
const server = app.listen(Number(process.env.PORT ?? 3000))
await once(server, 'listening')
const url = `http://localhost:${server.address().port}`

// With the mount path included, the URLs of tokens lead here.
const engine = createEngine({ tasks: [review], baseUrl: `${url}/engine`, secretKey: process.env.SECRET_KEY })

// Mounted before any middleware that reads bodies, such as express.json(): the handler reads them itself, with limits.
app.use('/engine', toNodeListener(createHandler(engine)))

// A route of the application. The page that receives the answer follows the run with its access token.
app.post('/reviews', express.json(), async (request, response) => {
  const { doc } = request.body ?? {}
  if (typeof doc !== 'string') return void response.sendStatus(400)
  const run = await engine.trigger(review, { doc })
  response.status(201).json({ run: run.id, accessToken: run.publicAccessToken })
})

process.once('SIGTERM', async () => {
  server.close()
  await engine.close()
  // A run that has not ended would be followed forever.
  server.closeAllConnections()
})
console.log(url)
