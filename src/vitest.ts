export {
  type DefineTaskTest,
  type RunnerOptions,
  taskTest,
  type TaskTest,
  type TaskTestBody,
  type TaskTestContext,
  type TaskTestOptions,
} from './testing/vitest/task-test.ts'
export { matchers, type RunMatchers } from './testing/vitest/matchers.ts'
