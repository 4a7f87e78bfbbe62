// The agent of the AI SDK, whose work OpenTelemetry tells: the agent itself, and a function that returns no more than its text.

import './tracing.mjs';
import { OpenTelemetry } from '@ai-sdk/otel';
import { registerTelemetry } from 'ai';
import { agent } from './ai_sdk_agent.mjs';

registerTelemetry(new OpenTelemetry());

export { agent };
export const silent = async (messages) => (await agent.generate({ messages })).text;
