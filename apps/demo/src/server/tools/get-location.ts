import { defineTool } from '@bowline/agent-loop'
import { z } from 'zod'
import { toolLabel } from '../../tool-labels.ts'

/** Without `execute`: the run suspends until somebody's browser answers. */
export function getLocation() {
  return defineTool({
    name: 'get_location',
    label: toolLabel('get_location'),
    description: "Asks the reader's browser for the place it is at. The reader may decline.",
    inputSchema: z.object({}),
    effect: 'pure',
  })
}
