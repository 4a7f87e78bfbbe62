RSpec.describe Parser do
  subject { described_class.new(input) }

  context "when the input is invalid" do # !7
    let(:input) { "{" }

    it "raises a syntax error" do
      expect { subject.parse }.to raise_error(Parser::SyntaxError, /line 1/)
    end
  end

  context "when the input is valid" do
    let(:input) { "{}" }

    it "parses" do
      expect(subject.parse).to eq({})
    end

    it "parse numbers" do # !19
      expect(described_class.new("1").parse).to eq(1)
    end

    it "parses every fixture" do
      Dir["spec/fixtures/*.json"].each do |path| # !15
        expect(described_class.new(File.read(path)).parse).to be_a(Hash)
      end
    end

    it "has tokens" do
      @tokens = subject.tokens # !11
      expect(@tokens.length).to eq(2)
    end

    it "might warn" do # !19
      expect { subject.parse }.to output(/warning/).to_stderr
    end

    it "compares" do
      expect(1).to eq(1) # !2
    end

    it "caches the result" do
      expect(described_class).to receive(:build) # !1
      described_class.parse("{}")
    end

    it "takes time" do
      started = Time.now # !27
      subject.parse
      expect(Time.now - started).to be < 1 # !27
    end

    it "depends on the case" do
      case input # !15
      when "{}" then expect(subject.parse).to eq({})
      end
    end
  end

  context "after parsing" do # !20
    let(:input) { "{}" }
    before { subject.parse }

    it { is_expected.to be_done }
  end
end
