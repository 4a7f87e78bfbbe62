RSpec.describe Temperature do
  describe "#to_celsius" do
    it("should convert") { expect(Temperature.new(212).to_celsius).to eq 100 } # !19

    it "converts", :focus do # !28
      expect(Temperature.new(32).to_celsius).to eq(0)
    end

    it "is a number" do
      expect(Temperature.new(32).to_celsius.is_a?(Numeric)).to be_truthy # !28
    end

    it "is never nil" do
      expect(Temperature.new(1).to_celsius.nil?).to be(false) # !28
    end
  end

  describe "#<=>" do
    let(:cold) { Temperature.new(10) }
    let(:warm) { Temperature.new(80) }

    it "could be compared" do # !19
      expect(cold <=> warm).to eq(-1)
    end

    it "sorts" do # !3
      expect([warm, cold].sort).to eq([cold, warm])
      expect([cold, warm].max).to eq(warm)
    end

    it "is stable" do
      unless cold == warm # !15
        expect(cold).not_to eq(warm)
      end
    end
  end

  context "having no reading" do # !20 !7
    it "raises an error" do
      expect { Temperature.new(nil) }.to raise_error(ArgumentError)
    end
  end

  context "given a scale" do # !20
    it "keeps the scale" do
      expect(Temperature.new(1, :kelvin).scale).to eq(:kelvin)
    end
  end
end
