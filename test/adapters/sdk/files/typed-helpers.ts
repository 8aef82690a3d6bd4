import {
  logger,
  task,
  type Context,
  type TaskIdentifier,
  type TaskOutput,
  type TaskPayload,
} from '@trigger.dev/sdk/v3'

export const area = task({
  id: 'area',
  run: async ({ width, height = width }: { width: number; height?: number }) => ({ area: width * height }),
})

type In = TaskPayload<typeof area>
type Out = TaskOutput<typeof area>

const id: TaskIdentifier<typeof area> = 'area'
const ofSquare = ({ area: size }: Out): In => ({ width: Math.sqrt(size) })

async function described(ctx: Context, out: Out): Promise<string> {
  logger.info('Described', { run: ctx.run.id })
  return `${ctx.task.id} of ${id}: ${ofSquare(out).width}`
}

export const helped = task({
  id: 'helped',
  run: async (payload: Out, { ctx }) => described(ctx, payload),
})
