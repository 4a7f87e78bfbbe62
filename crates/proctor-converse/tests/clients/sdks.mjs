// The clients of OpenAI and Anthropic for JavaScript, streamed, with a loop around one tool.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weather = ({ city }) => `clear over ${city}`;

export async function openai(text) {
  const client = new OpenAI();
  const [messages, calls] = [[{ role: 'system', content: 'Be kind.' }, { role: 'user', content: text }], []];
  for (;;) {
    const tools = [{ type: 'function', function: { name: 'weather', description: 'The weather.', parameters } }];
    const stream = client.chat.completions.stream({ model: 'asked-for', messages, tools });
    const message = (await stream.finalChatCompletion()).choices[0].message;
    if (!message.tool_calls?.length) return { text: message.content, tool_calls: calls };
    messages.push(message);
    for (const call of message.tool_calls) {
      const given = JSON.parse(call.function.arguments);
      calls.push({ name: call.function.name, arguments: given, result: weather(given) });
      messages.push({ role: 'tool', tool_call_id: call.id, content: weather(given) });
    }
  }
}

export async function anthropic(text) {
  const client = new Anthropic();
  const [messages, calls] = [[{ role: 'user', content: text }], []];
  for (;;) {
    const tools = [{ name: 'weather', description: 'The weather.', input_schema: parameters }];
    const stream = client.messages.stream({ model: 'asked-for', max_tokens: 100, system: 'Be kind.', messages, tools });
    const { content, stop_reason } = await stream.finalMessage();
    if (stop_reason !== 'tool_use') return { text: content.map((block) => block.text ?? '').join(''), tool_calls: calls };
    messages.push({ role: 'assistant', content });
    const results = content.filter((block) => block.type === 'tool_use').map((block) => {
      calls.push({ name: block.name, arguments: block.input, result: weather(block.input) });
      return { type: 'tool_result', tool_use_id: block.id, content: weather(block.input) };
    });
    messages.push({ role: 'user', content: results });
  }
}
